import { Counter, Gauge, type Registry } from '@prometheus-io/client';

/** Reads a value when it is scraped; undefined while it is not known. */
export type ReadValue = () => number | undefined | Promise<number | undefined>;

/** A value of one process, and the most that it can be, if it is bounded. */
export interface MeasuredValue {
  readonly name: string;
  readonly help: string;
  readonly read: ReadValue;
  readonly max?: ReadValue | undefined;
}

/** Registers a gauge with a label that names the process, and its bound as `<name>_max`. It costs a request nothing. */
export function addGauge(registry: Registry, process: string, { name, help, read, max }: MeasuredValue): void {
  new Gauge({
    name,
    help,
    labelNames: ['process'],
    registers: [registry],
    async collect() {
      const value = await read();
      if (value !== undefined) this.set({ process }, value);
    },
  });
  if (max !== undefined) addGauge(registry, process, { name: `${name}_max`, help: `The bound of ${name}.`, read: max });
}

/** Registers a total. It has no label of the process, so it outlives its worker. */
export function addTotal(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}
