import { monitorEventLoopDelay } from 'node:perf_hooks';
import { until } from './until.ts';

/**
 * Blocks the event loop for that long, again and again until a monitor of its delay has seen it: it does not measure
 * its first interval.
 */
export async function blockEventLoop(milliseconds: number): Promise<void> {
  const monitor = monitorEventLoopDelay();
  monitor.enable();
  await until(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds + 1);
    return monitor.max > milliseconds * 1e6;
  }, 'a monitor has seen that the event loop was blocked');
  monitor.disable();
}
