/** One metric at one moment, as prom-client gives it in JSON; what is not looked into here is not declared. */
export interface MetricSnapshot {
  readonly name: string;
  readonly values: readonly {
    readonly value: number;
    readonly labels: Readonly<Partial<Record<string, string | number>>>;
  }[];
}

/** All metrics of one place at one moment: plain data, which can be sent from process to process. */
export type MetricsSnapshot = readonly MetricSnapshot[];
