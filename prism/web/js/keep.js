// Keep the reader's state in updates: a click in progress, the focus, a text selection.

const LOOK_MS = 100;

/** Resolves once no pointer button is pressed in `main`, because clicked or dragged elements must not move. */
export async function released(main) {
  while (main.querySelector(":active")) await new Promise((go) => { setTimeout(go, LOOK_MS); });
}

/**
 * Remembers focus and text selection inside an element; returns a function that restores them. If a focused link is gone, the focus goes
 * to another link to the same page, else to the page as a whole.
 */
export function kept(element) {
  const focused = document.activeElement;
  const inside = focused && focused !== element && element.contains(focused);
  const href = inside ? focused.getAttribute("href") : null;
  const range = selected(element);
  return () => {
    if (inside && document.activeElement !== focused) {
      const other = href && [...element.querySelectorAll("a")].find((one) => one.getAttribute("href") === href);
      (focused.isConnected ? focused : other || element.closest("main"))?.focus({ preventScroll: true });
    }
    if (range) reselect(...range);
  };
}

function selected(element) {
  const selection = document.getSelection();
  if (!selection || selection.isCollapsed || !element.contains(selection.anchorNode)) return null;
  return [selection.anchorNode, selection.anchorOffset, selection.focusNode, selection.focusOffset];
}

function reselect(anchor, from, focus, to) {
  const selection = document.getSelection();
  const same = selection.anchorNode === anchor && selection.anchorOffset === from && selection.focusNode === focus && selection.focusOffset === to;
  if (same || !anchor.isConnected || !focus.isConnected) return;
  selection.setBaseAndExtent(anchor, Math.min(from, size(anchor)), focus, Math.min(to, size(focus)));
}

const size = (node) => (node.nodeType === Node.TEXT_NODE ? node.data.length : node.childNodes.length);
