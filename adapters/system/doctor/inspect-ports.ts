import { type Finding, fine, problem } from '../../../application/ports/inspection.ts';
import { type ListeningPlace, listenProblem } from '../listen-problem.ts';
import { tryListening } from '../shared-port.ts';

/**
 * Whether each port can be opened, which is tried. A port that is in use is fine if a service with these settings runs.
 *
 * @param isRunning whether the service answers on its management port.
 */
export async function inspectPorts(places: readonly ListeningPlace[], isRunning: boolean): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const place of places.filter(({ port }) => port !== 0)) findings.push(await inspectPort(place, isRunning));
  return findings;
}

async function inspectPort(place: ListeningPlace, isRunning: boolean): Promise<Finding> {
  const { host, port, portSetting } = place;
  try {
    await tryListening({ host, port });
    return fine(`${portSetting}: ${port} is free`);
  } catch (fault) {
    const { code } = fault as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE' && isRunning) return fine(`${portSetting}: ${port} is used by the service that runs`);
    const found = listenProblem(fault, [place]);
    if (found === undefined) throw fault;
    return problem(found.text, found.fix);
  }
}
