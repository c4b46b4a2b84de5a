// Short ways to elements of the page.

export const find = (id) => document.getElementById(id);

export function make(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Does the work once nobody has asked for it again for so many milliseconds.
export function after(wait, work) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, wait);
  };
}
