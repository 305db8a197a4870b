/** All metrics of the service at one moment, as the scraper's library has them. */
export type MetricsOfService = readonly {
  readonly name: string;
  readonly values: readonly MeasuredValue[];
}[];

interface MeasuredValue {
  readonly value: number;
  readonly labels: Labels;
  /** For a histogram: the name of the series, such as `…_bucket`. */
  readonly metricName?: string;
}

type Labels = Readonly<Partial<Record<string, string | number>>>;

/** Chooses series by their labels. */
export type Choose = (labels: Labels) => boolean;

/** Reads figures out of the metrics of the service. A figure that has no metric is `null`. */
export class Measurements {
  readonly #series = new Map<string, MeasuredValue[]>();

  constructor(metrics: MetricsOfService) {
    for (const { name, values } of metrics) {
      if (!this.#series.has(name)) this.#series.set(name, []);
      for (const value of values) {
        const series = value.metricName ?? name;
        const known = this.#series.get(series);
        if (known === undefined) this.#series.set(series, [value]);
        else known.push(value);
      }
    }
  }

  /** The sum of the series; `null` if there is no such metric. */
  total(name: string, choose: Choose = () => true): number | null {
    const series = this.#series.get(name);
    if (series === undefined) return null;
    return series.reduce((sum, { labels, value }) => (choose(labels) ? sum + value : sum), 0);
  }

  /** The sums of the series by the value of a label, without one value of it. */
  totalsBy(label: string, name: string, except: string): Readonly<Record<string, number>> {
    const totals: Record<string, number> = {};
    for (const { labels, value } of this.#series.get(name) ?? []) {
      const key = String(labels[label]);
      if (key !== except) totals[key] = (totals[key] ?? 0) + value;
    }
    return totals;
  }

  /** The value of one series; `null` if there is none. */
  value(name: string, choose: Choose): number | null {
    return this.#series.get(name)?.find(({ labels }) => choose(labels))?.value ?? null;
  }

  /** How many observations each bucket of a histogram has, with its upper bound; cumulative, in order of the bounds. */
  buckets(histogram: string, choose: Choose): Buckets {
    const counts = new Map<number, number>();
    for (const { labels, value } of this.#series.get(`${histogram}_bucket`) ?? []) {
      if (!choose(labels)) continue;
      const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
      counts.set(bound, (counts.get(bound) ?? 0) + value);
    }
    return counts;
  }
}

/** Cumulative counts by upper bound. */
export type Buckets = ReadonlyMap<number, number>;
