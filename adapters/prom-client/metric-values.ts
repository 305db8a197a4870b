import { Counter, Gauge, Registry } from '@prometheus-io/client';
import type { MetricsSnapshot } from '../../application/ports/telemetry.ts';

/** Adds what it measures. Called at each scrape, so it costs a request nothing. */
export type Measure = (values: MetricValues) => void | Promise<void>;

/** The values of metrics at one moment. */
export class MetricValues {
  readonly #registry = new Registry();
  readonly #labels: Readonly<Record<string, string>>;

  /** @param process names the process in each gauge: a sum over processes would hide the one that has a problem. */
  constructor(process?: string) {
    this.#labels = process === undefined ? {} : { process };
  }

  /** Adds something that is held, and its bound as `<name>_max`, if it has one. Adds nothing while the value is not known. */
  gauge(name: string, help: string, value: number | undefined, max?: number): void {
    if (value !== undefined) this.#newGauge(name, help).set(this.#labels, value);
    if (max !== undefined) this.gauge(`${name}_max`, `The bound of ${name}.`, max);
  }

  /** Adds a gauge with a label, and the value for each of its values. */
  gauges(label: string, name: string, help: string, values: Readonly<Record<string, number>>): void {
    const gauge = this.#newGauge(name, help, label);
    for (const [key, value] of Object.entries(values)) gauge.set({ ...this.#labels, [label]: key }, value);
  }

  /** Adds what a process has counted since it started. Without a label of the process, it outlives its worker. */
  total(name: string, help: string, value: number, labels: Readonly<Record<string, string>> = {}): void {
    new Counter({ name, help, labelNames: Object.keys(labels), registers: [this.#registry] }).inc(labels, value);
  }

  snapshot(): Promise<MetricsSnapshot> {
    return this.#registry.getMetricsAsJSON();
  }

  #newGauge(name: string, help: string, ...more: readonly string[]): Gauge<string> {
    const labelNames = [...Object.keys(this.#labels), ...more];
    return new Gauge({ name, help, labelNames, registers: [this.#registry] });
  }
}
