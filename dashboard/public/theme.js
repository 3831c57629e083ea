// Runs before the first paint, so that nobody who likes the dark is shown a flash of light.
const chosen = localStorage.getItem("chronos.theme");
const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme = dark ? "dark" : "light";
