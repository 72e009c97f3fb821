// Update pages in place: new elements are merged into existing ones. Existing elements stay the same objects, which preserves focus,
// selection, scroll position, tooltips, typed text and opened details.

import { dress, h, nodes, slotOf } from "./dom.js";
import { kept } from "./keep.js";

const heirs = new WeakMap(); // new element → the existing element that took over its content

/** Returns the element in the page for a given one: itself, or the one that took over its content. */
export function live(element) {
  let found = element;
  while (heirs.has(found)) found = heirs.get(found);
  return found;
}

/** Replaces the content of an element (or of its successor) with `children`, all newly made. */
export function redraw(element, ...children) {
  const target = live(element);
  const fresh = document.createDocumentFragment();
  fresh.append(...nodes(children));
  const restore = kept(target);
  patchChildren(target, fresh);
  restore();
}

/**
 * An element that manages its own content. `mount(root, props)` runs once it is in the page, fills `root`, and returns {update(props), …}:
 * a redrawn part with the same `mount` gets the new props instead.
 */
export function part(attributes, mount, props) {
  const made = h("prism-part", attributes);
  slotOf(made).part = { mount, props, made: null };
  return made;
}

/** Calls a method that the `mount` of a part returned; does nothing before the part is in the page. */
export const call = (element, name, ...args) => slotOf(live(element)).part.made?.[name](...args);

customElements.define("prism-part", class extends HTMLElement {
  connectedCallback() {
    const own = slotOf(this)?.part;
    if (own) own.made ??= guarded(this, () => own.mount(this, own.props));
  }
});

/** Runs code of a part. If it fails, the part shows the error, the rest of the page continues, and the next update mounts it again. */
function guarded(root, act) {
  try {
    return act() ?? null;
  } catch (error) {
    console.error(error);
    root.replaceChildren(h("p", { class: "failure" }, "▲ This part of the page cannot be drawn. Reload the page; if it fails again, report the text of the browser's console."));
    slotOf(root).part.made = null;
    return null;
  }
}

function patchNode(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return old;
  }
  const [was, now] = [slotOf(old), slotOf(fresh)];
  heirs.set(fresh, old);
  if (!now.part) {
    dress(old, was, now);
    patchChildren(old, fresh);
    return old;
  }
  const { mount, props } = now.part;
  const { made } = was.part;
  dress(old, was, { ...now, part: { mount, props, made } });
  if (made) guarded(old, () => made.update(props));
  else if (old.isConnected) {
    old.replaceChildren();
    slotOf(old).part.made = guarded(old, () => mount(old, props));
  }
  return old;
}

function patchChildren(parent, fresh) {
  const olds = [...parent.childNodes];
  const wanted = [...fresh.childNodes];
  const found = matched(olds, wanted);
  const staying = new Set(found);
  for (const old of olds) if (!staying.has(old)) old.remove();
  const place = new Map(olds.map((old, at) => [old, at]));
  const unmoved = rising(found.map((old) => (old ? place.get(old) : -1)));
  let after = null;
  for (let at = wanted.length - 1; at >= 0; at -= 1) {
    const node = found[at] ? patchNode(found[at], wanted[at]) : wanted[at];
    if (!unmoved.has(at)) parent.insertBefore(node, after);
    after = node;
  }
}

/** Finds for each new node the old one that it replaces, or null: by key or id, the others in order. */
function matched(olds, wanted) {
  const keyed = new Map();
  const plain = [];
  for (const old of olds) {
    if (keyOf(old) === null) plain.push(old);
    else keyed.set(keyOf(old), old);
  }
  let from = 0;
  return wanted.map((node) => {
    const key = keyOf(node);
    if (key !== null) {
      const old = keyed.get(key);
      if (!old || !alike(old, node)) return null;
      keyed.delete(key);
      return old;
    }
    for (let at = from; at < plain.length; at += 1) {
      if (!alike(plain[at], node)) continue;
      from = at + 1;
      return plain[at];
    }
    return null;
  });
}

const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? (slotOf(node)?.key ?? (node.id || null)) : null);

function alike(old, node) {
  if (old.nodeName !== node.nodeName) return false;
  if (node.nodeType !== Node.ELEMENT_NODE) return true;
  const [was, now] = [slotOf(old), slotOf(node)];
  return Boolean(was && now) && was.part?.mount === now.part?.mount;
}

/** Finds a longest increasing subsequence (-1: no number), so that as few nodes as possible are moved. */
function rising(places) {
  const ends = []; // ends[n]: index of the smallest number that ends an increasing subsequence of n + 1
  const before = [];
  places.forEach((place, at) => {
    if (place < 0) return;
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[ends[middle]] < place) low = middle + 1;
      else high = middle;
    }
    before[at] = low ? ends[low - 1] : -1;
    ends[low] = at;
  });
  const out = new Set();
  for (let at = ends.length ? ends.at(-1) : -1; at >= 0; at = before[at]) out.add(at);
  return out;
}
