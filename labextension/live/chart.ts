// One chart: uPlot with our axes, marks, legend and text equivalent. Knows columns of numbers, not where they come from.
import uPlot from 'uplot';

import type { Columns, Mark } from './store';
import type { IColours } from './theme';
import { coloursOf } from './theme';

export interface IChartOptions {
  /** What the chart shows, for its text equivalent. */
  readonly label: string;
  readonly height: number;
  readonly names: readonly string[];
  readonly writeX: (value: number) => string;
  readonly writeY: (value: number | null | undefined) => string;
  /** Allowed distances between the ticks of each axis; uPlot's own when absent. */
  readonly stepsX: number[];
  readonly stepsY?: number[];
  /** Whether a line goes on over points where it has no value. */
  readonly joined?: boolean;
}

const MARK_GAP = 10;
const MARKS_ABOVE = 18;
const FONT = '11px system-ui, sans-serif';

export class Chart {
  constructor(
    private readonly host: HTMLElement,
    private readonly options: IChartOptions
  ) {
    this.picture = host.appendChild(document.createElement('div'));
    this.picture.className = 'rocmtx-chart';
    this.picture.setAttribute('role', 'img');
    this.legend = host.appendChild(document.createElement('div'));
    this.legend.className = 'rocmtx-legend';
    this.plot = this.make();
    this.observer = new ResizeObserver(() => {
      const width = this.host.clientWidth;
      if (width > 0 && width !== this.plot.width) {
        this.plot.setSize({ width, height: options.height });
      }
    });
    this.observer.observe(host);
  }

  /** Shows new values and marks. */
  draw(columns: Columns, marks: readonly Mark[], summary: string): void {
    this.columns = columns;
    this.marks = marks;
    this.picture.setAttribute('aria-label', `${this.options.label}. ${summary}`);
    this.plot.setData(forPlot(columns));
    this.writeLegend(null);
  }

  /** Draws again in the colours of a new theme. */
  recolour(): void {
    this.plot.destroy();
    this.plot = this.make();
    this.plot.setData(forPlot(this.columns));
    this.writeLegend(null);
  }

  dispose(): void {
    this.observer.disconnect();
    this.plot.destroy();
    this.picture.remove();
    this.legend.remove();
  }

  private make(): uPlot {
    const colours = coloursOf(this.host);
    const { names, height, writeX, writeY, stepsX, stepsY, joined = false } = this.options;
    const axis = { stroke: colours.text, font: FONT, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
    const series = names.map((label, at) => ({
      label,
      stroke: colours.series(at),
      width: 2,
      spanGaps: joined,
      points: { show: (plot: uPlot, of: number): boolean => isLonely(plot.data[of] ?? []) },
      ...(at % 2 ? { dash: [7, 3] } : {})
    }));
    return new uPlot(
      {
        width: this.host.clientWidth || 640,
        height,
        padding: [MARKS_ABOVE, 28, 0, 0],
        legend: { show: false },
        cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
        scales: { x: { time: false }, y: { range: (_, __, high) => [0, high > 0 ? high * 1.08 : 1] } },
        axes: [
          { ...axis, size: 26, grid: { show: false }, space: 90, incrs: stepsX, values: (_, ticks) => ticks.map(writeX) },
          { ...axis, size: 68, space: 34, values: (_, ticks) => ticks.map(writeY), ...(stepsY ? { incrs: stepsY } : {}) }
        ],
        series: [{}, ...series],
        hooks: {
          draw: [(plot: uPlot) => { drawMarks(plot, this.marks, colours); }],
          setCursor: [(plot: uPlot) => { this.writeLegend(plot.cursor.idx ?? null); }]
        }
      },
      forPlot(this.columns, names.length),
      this.picture
    );
  }

  private writeLegend(at: number | null): void {
    const colours = coloursOf(this.host);
    const column = this.columns[0] ?? [];
    const shown = at ?? column.length - 1;
    const entries = this.options.names.map((name, line) => {
      const entry = document.createElement('span');
      const swatch = entry.appendChild(document.createElement('i'));
      swatch.style.borderTop = `2px ${line % 2 ? 'dashed' : 'solid'} ${colours.series(line)}`;
      entry.append(`${name} `);
      entry.appendChild(document.createElement('b')).textContent = this.options.writeY(this.columns[line + 1]?.[shown]);
      return entry;
    });
    const moment = column[shown];
    if (at !== null && moment !== undefined) {
      const when = document.createElement('span');
      when.textContent = this.options.writeX(moment);
      entries.push(when);
    }
    this.legend.replaceChildren(...entries);
  }

  private readonly picture: HTMLElement;
  private readonly legend: HTMLElement;
  private readonly observer: ResizeObserver;
  private columns: Columns = [[]];
  private marks: readonly Mark[] = [];
  private plot: uPlot;
}

/** uPlot takes null for a gap, and wants as many columns as it was made with. */
function forPlot(columns: Columns, lines = columns.length - 1): uPlot.AlignedData {
  const axis = columns[0] ?? [];
  const values = Array.from({ length: lines }, (_, at) =>
    (columns[at + 1] ?? axis.map(() => NaN)).map(value => (Number.isNaN(value) ? null : value))
  );
  return [axis, ...values];
}

/** A line of one point would be invisible without a dot. */
function isLonely(values: ArrayLike<number | null | undefined>): boolean {
  let known = 0;
  for (let at = 0; at < values.length && known < 2; at += 1) {
    known += values[at] === null || values[at] === undefined ? 0 : 1;
  }
  return known === 1;
}

function drawMarks(plot: uPlot, marks: readonly Mark[], colours: IColours): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  let freeFrom = -Infinity;
  ctx.save();
  ctx.strokeStyle = colours.text;
  ctx.fillStyle = colours.text;
  ctx.font = `${String(11 * ratio)}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'bottom';
  ctx.lineWidth = ratio;
  for (const [time, label] of marks) {
    const x = Math.round(plot.valToPos(time, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) {
      continue;
    }
    ctx.globalAlpha = 0.55;
    ctx.setLineDash([3 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - 3 * ratio);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const width = ctx.measureText(label).width;
    const left = Math.min(x - ratio, bbox.left + bbox.width - width);
    if (left >= freeFrom) {
      ctx.globalAlpha = 0.85;
      ctx.fillText(label, left, bbox.top - 5 * ratio);
      freeFrom = left + width + MARK_GAP * ratio;
    }
  }
  ctx.restore();
}
