// Lines over time: rates of a few parts, with a legend, a tooltip, and one emphasised line.

import { h } from "../dom.js";
import { between, later, moment } from "../format.js";
import { token } from "../palette.js";
import { part, redraw } from "../patch.js";
import { FONT, MARGIN, place, surface, ticks, tip, write } from "./canvas.js";

const COLOURS = ["--accent", "--bar-slow", "--good", "--critical", "--info", "--warning"];
const HEIGHT = 190;
const LEFT = 52;

/**
 * A chart. `data`: {start_ns, bin_ms, lines: [{name, values, strong?, dashed?}], unit, mark?: {ns, text}, limit?: {value, text}}; `label`
 * for screen readers.
 */
export const lines = (data, { label }) => part({ class: "lines" }, mount, { data, label });

function mount(root, first) {
  let props = first;
  const box = h("div", { class: "drawing" });
  const legend = h("ul", { class: "legend" });
  root.append(box, legend);
  const { canvas, show, width } = surface(box);
  const told = tip(box);
  const colour = (at) => token(COLOURS[at % COLOURS.length].slice(2));
  const many = () => Math.max(0, ...props.data.lines.map((one) => one.values.length));
  const top = () => Math.max(1e-9, ...props.data.lines.flatMap((one) => one.values.filter(Number.isFinite)), props.data.limit?.value ?? 0) * 1.06;
  const x = (at, wide) => LEFT + (at / Math.max(1, many())) * (wide - LEFT - MARGIN);

  function paint(context, wide, tall) {
    const high = top();
    const low = tall - 20;
    const y = (value) => low - (value / high) * (low - 8);
    for (const value of ticks(0, high, 4)) {
      context.fillStyle = token("line");
      context.fillRect(LEFT, Math.round(y(value)), wide - LEFT - MARGIN, 1);
      write(context, `${Number(value.toPrecision(3))}`, LEFT - 6, y(value), { align: "right" });
    }
    const { start_ns: start, bin_ms: bin } = props.data;
    for (const share of [0, 0.5, 1]) write(context, moment(later(start, share * many() * bin), { brief: true }), x(share * many(), wide), tall - 8, { align: share === 0 ? "left" : share === 1 ? "right" : "center" });
    props.data.lines.forEach((one, at) => {
      context.strokeStyle = colour(at);
      context.lineWidth = one.strong ? 2.25 : 1.25;
      context.setLineDash(one.dashed ? [5, 4] : []);
      context.beginPath();
      let down = false;
      one.values.forEach((value, bin_) => {
        if (!Number.isFinite(value)) down = false;
        else if (down) context.lineTo(x(bin_ + 0.5, wide), y(value));
        else { context.moveTo(x(bin_ + 0.5, wide), y(value)); down = true; }
      });
      context.stroke();
    });
    context.setLineDash([]);
    context.lineWidth = 1;
    if (props.data.limit) {
      context.fillStyle = token("muted");
      context.fillRect(LEFT, Math.round(y(props.data.limit.value)), wide - LEFT - MARGIN, 1);
      write(context, props.data.limit.text, wide - MARGIN, y(props.data.limit.value) - 7, { align: "right" });
    }
    if (props.data.mark) {
      const at = x(between(start, props.data.mark.ns) / bin, wide);
      if (at >= LEFT && at <= wide - MARGIN) {
        context.fillStyle = token("warning");
        context.fillRect(Math.round(at), 4, 1.5, low - 4);
        write(context, props.data.mark.text, at + 4, 10, { colour: token("warning"), bold: true });
      }
    }
    context.font = FONT;
  }
  function draw() {
    show({ height: HEIGHT, label: props.label, paint });
    redraw(legend, props.data.lines.map((one, at) => h("li", { key: one.name }, h("i", { style: { background: `var(${COLOURS[at % COLOURS.length]})` } }), one.name)));
  }
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = place(event, canvas);
    const bin = Math.floor(((px - LEFT) / (width() - LEFT - MARGIN)) * many());
    if (bin < 0 || bin >= many()) return told.hide();
    const at = moment(later(props.data.start_ns, (bin + 0.5) * props.data.bin_ms), { brief: true });
    const rows = props.data.lines.map((one) => (Number.isFinite(one.values[bin]) ? `${one.name}: ${Number(one.values[bin].toPrecision(3))} ${props.data.unit}` : null));
    return told.show(px, py, [at, ...rows]);
  });
  canvas.addEventListener("pointerleave", () => told.hide());
  draw();
  return { update(next) { props = next; draw(); } };
}
