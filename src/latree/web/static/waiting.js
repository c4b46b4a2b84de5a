// Asks for the page again, by a new address: at the same one, a browser would move to the fragment here, without asking,
// or after reloading stay where it was.

setTimeout(() => location.replace(`?${Date.now()}${location.hash}`), 1000);
