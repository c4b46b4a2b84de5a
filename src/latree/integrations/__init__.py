"""latree inside other libraries: spaCy, NLTK, pandas and Hugging Face datasets, a module for each.

No module is imported before its user asks for it, since none of these libraries is needed by latree itself.
"""
