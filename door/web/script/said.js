// What a page says about the last change stands in its content, so that it works
// without a script and arrives with a part of a page. It moves to the toasts.
(() => {
  const toasts = document.getElementById("toasts");
  const main = document.getElementById("main");
  if (!toasts || !main) { return; }
  const move = () => {
    for (const box of document.querySelectorAll("[data-said]")) {
      toasts.append(...box.children);
      box.remove();
    }
  };
  move();
  new MutationObserver(move).observe(document.body, { childList: true, subtree: true });
})();
