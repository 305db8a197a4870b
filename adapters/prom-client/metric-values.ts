import { Counter, Gauge, Registry } from '@prometheus-io/client';
import { METRIC_HELP, type MetricName } from './metric-help.ts';

/** Adds what it measures. Called at each scrape, so it costs a request nothing. */
export type Measure = (values: MetricValues) => void | Promise<void>;

/** The values of metrics at one moment. */
export class MetricValues {
  readonly #registry = new Registry();

  /** Adds what is held, and its bound as `<name>_max`, if it has one. Adds nothing while the value is not known. */
  gauge(name: MetricName, value: number | undefined, max?: number): void {
    if (value !== undefined) this.#newGauge(name, METRIC_HELP[name]).set(value);
    if (max !== undefined) this.#newGauge(`${name}_max`, `The bound of ${name}.`).set(max);
  }

  /** Adds a gauge with a label, and the value for each of its values. */
  gauges(label: string, name: MetricName, values: Readonly<Record<string, number>>): void {
    const gauge = this.#newGauge(name, METRIC_HELP[name], label);
    for (const [key, value] of Object.entries(values)) gauge.set({ [label]: key }, value);
  }

  /** Adds what was counted since startup. */
  total(name: MetricName, value: number): void {
    new Counter({ name, help: METRIC_HELP[name], registers: [this.#registry] }).inc(value);
  }

  /** In the text format of Prometheus, with a line feed at the end. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #newGauge(name: string, help: string, ...labelNames: string[]): Gauge<string> {
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
