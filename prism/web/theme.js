// Before anything is painted: the theme that was chosen here, else the system's. A plain script, so that nothing flashes.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("prism-theme");
  } catch {
    // storage may be refused; the system's theme will do
  }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
