// Tags: a typed or chosen text becomes a checkbox before the field.
"use strict";

(function () {
  const boxes = (field) => [...field.closest("[data-tags]").querySelectorAll('input[type="checkbox"]')];
  function add(field) {
    const text = field.value.trim();
    field.value = "";
    if (text === "") { return; }
    const same = boxes(field).find((box) => box.value.toLowerCase() === text.toLowerCase());
    if (same) {
      same.checked = true;
      return;
    }
    const label = document.createElement("label"), box = document.createElement("input"), name = document.createElement("bdi");
    label.className = "chip";
    box.type = "checkbox";
    box.name = field.name;
    box.value = text;
    box.checked = true;
    name.textContent = text;
    label.append(box, " ", name);
    field.closest(".combo").before(label);
  }
  const typing = (event) => event.target.matches && event.target.matches('[data-tags] [role="combobox"]');
  document.addEventListener("change", (event) => { if (typing(event)) { add(event.target); } });
  document.addEventListener("keydown", function (event) {
    if (!typing(event) || event.isComposing) { return; }
    if (event.key === "," && event.target.value.trim() !== "") {
      event.preventDefault();
      add(event.target);
    } else if (event.key === "Backspace" && event.target.value === "") {
      const last = boxes(event.target).pop();
      if (last) { last.closest("label").remove(); }
    }
  });

  // While a person types a new entry, possible duplicates are loaded beside the form.
  const rest = 300; // ms after the last key
  let timer = 0;
  document.addEventListener("input", function (event) {
    if (!event.target.closest("form[data-similar]") || !event.target.matches('[name="firstName"], [name="lastName"], [name="name"], [name="email"], [name="mobile"], [name="phone"], [name="additionalEmails.email"], [name="additionalPhones.phone"]')) { return; }
    clearTimeout(timer);
    timer = setTimeout(function () {
      const box = document.getElementById("similar"); // the form may have been sent meanwhile, and the box removed
      if (box) { box.dispatchEvent(new CustomEvent("kartei:ask")); }
    }, rest);
  });
})();
