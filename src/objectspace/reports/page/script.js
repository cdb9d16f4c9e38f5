
// The page is whole without this. It adds: a lit object that stays lit on click, light and dark by hand, and controls
// to find, order and hide.
(() => {
  "use strict";
  const root = document.documentElement;
  root.classList.add("js");

  // An object is lit while it is pointed at or focused, else the one that was clicked last, if any.
  let shown = null, pinned = null;
  const thingAt = target => (target instanceof Element ? target.closest(".thing") : null);
  const partsOf = thing => {
    const kind = [...thing.classList].find(name => /^k\d+$/.test(name));
    return thing.closest(".scene").querySelectorAll("." + kind);
  };
  const show = thing => {
    const next = thing || pinned;
    if (next === shown) return;
    if (shown) {
      shown.closest(".scene").classList.remove("busy");
      partsOf(shown).forEach(part => part.classList.remove("lit"));
    }
    if (next) {
      next.closest(".scene").classList.add("busy");
      partsOf(next).forEach(part => part.classList.add("lit"));
    }
    shown = next;
  };
  document.addEventListener("pointerover", event => show(thingAt(event.target)));
  document.addEventListener("pointerleave", () => show(null));
  document.addEventListener("focusin", event => show(event.target.matches(":focus-visible") ? thingAt(event.target) : null));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("click", event => {
    const thing = thingAt(event.target);
    if (!thing) {
      if (event.target.closest(".scene")) { pinned = null; show(null); }
      return;
    }
    event.preventDefault();
    const again = pinned && [...partsOf(thing)].includes(pinned);
    pinned = again ? null : thing;
    show(thing);
  });
  document.addEventListener("keydown", event => {
    if (event.key === "Escape") { pinned = null; show(null); }
  });

  // Light or dark: as the system has it, until the button is used; remembered where the browser allows it.
  const remembered = () => { try { return localStorage.getItem("objectspace-theme"); } catch { return null; } };
  const remember = theme => { try { localStorage.setItem("objectspace-theme", theme); } catch { /* a private window */ } };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();

  document.addEventListener("DOMContentLoaded", () => {
    const find = selector => document.querySelector(selector);
    const button = find(".theme");
    const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      remember(root.dataset.theme);
      label();
    });
    system.addEventListener("change", label);
    label();

    const list = find(".scenes");
    const scenes = [...list.querySelectorAll(".scene")];
    if (!scenes.length) return;
    const names = scenes.map(scene => scene.querySelector("h3").textContent.toLowerCase());
    const search = find(".search input"), output = find(".shown"), order = find(".order");
    const count = scene => Number(scene.dataset.count);
    find(".tools").hidden = false;
    find(".search").hidden = scenes.length < 2;
    order.parentElement.hidden = scenes.length < 2;
    const unexplained = scene => Number(scene.dataset.unexplained ?? -1);
    find(".has-truth").hidden = !find(".truth path");
    find(".has-nobody").hidden = !find(".nobody");
    find(".by-unexplained").hidden = !scenes.some(scene => "unexplained" in scene.dataset);
    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      let left = 0;
      scenes.forEach((scene, index) => {
        scene.hidden = !names[index].includes(wanted);
        left += scene.hidden ? 0 : 1;
      });
      output.textContent = wanted ? `${left} of ${scenes.length} images` : "";
    });
    order.addEventListener("change", () => {
      const sign = { given: 0, most: -1, fewest: 1, unexplained: -1 }[order.value];
      const key = order.value === "unexplained" ? unexplained : count;
      list.append(...[...scenes].sort((a, b) => sign * (key(a) - key(b))));
    });
    for (const kind of ["found", "truth", "nobody"]) {
      const box = find(`.show-${kind}`);
      box.addEventListener("change", () => root.classList.toggle(`hide-${kind}`, !box.checked));
    }
  });
})();
