// Set the stored theme, else the system's, before the first paint. A plain script, to avoid a flash.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("prism-theme");
  } catch {
    // storage may be unavailable; use the system's theme
  }
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
