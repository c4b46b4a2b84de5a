# docker build -t latree . && docker run --rm -p 127.0.0.1:8000:8000 latree
FROM python:3.11-slim

WORKDIR /latree
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir '.[web]'

# Kernels are compiled once, when the image is made, where whoever runs it may read them.
ENV NUMBA_CACHE_DIR=/kernels NUMBA_CPU_NAME=generic
RUN latree warm && useradd --create-home latree && chown -R latree /kernels
USER latree

EXPOSE 8000
CMD ["latree", "serve", "--host", "0.0.0.0", "--port", "8000"]
