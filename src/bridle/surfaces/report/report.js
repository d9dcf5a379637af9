"use strict";
const root = document.documentElement;
document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
for (const button of document.querySelectorAll("button.all")) {
  button.addEventListener("click", () => {
    const steps = [...button.parentElement.nextElementSibling.children];
    const open = !steps.every((step) => step.open);
    for (const step of steps) step.open = open;
    button.textContent = open ? "close all" : "open all";
  });
}
