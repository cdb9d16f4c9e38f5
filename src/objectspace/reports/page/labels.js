
// Puts the names that were typed into labels.json, and gives that file to the user. Nothing leaves the computer.
(() => {
  "use strict";
  const labels = JSON.parse(document.getElementById("labels").textContent);
  const form = document.querySelector("form");
  const inputs = [...form.querySelectorAll("input")];
  const said = form.querySelector("output");
  let unsaved = false;

  const named = () => inputs.map(input => input.value.trim() || input.placeholder);
  const show = () => {
    const names = named();
    const kinds = new Set(names).size;
    const own = names.filter((name, number) => name !== inputs[number].placeholder).length;
    said.textContent = `${own} of ${names.length} named` + (kinds < names.length ? `, ${kinds} different names` : "");
  };
  form.querySelector("button").disabled = false;
  form.addEventListener("input", () => { unsaved = true; show(); });
  form.addEventListener("submit", event => {
    event.preventDefault();
    named().forEach((name, number) => { labels.clusters[number].name = name; });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(labels, null, 1) + "\n"], { type: "application/json" }));
    link.download = "labels.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    unsaved = false;
  });
  addEventListener("beforeunload", event => { if (unsaved) event.preventDefault(); });
  show();
})();
