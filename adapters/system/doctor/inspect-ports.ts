import { connect } from 'node:net';
import { type Finding, fine, problem } from '../../../domain/finding.ts';
import { type ListeningPlace, listenProblem } from '../listen-problem.ts';
import { tryListening } from '../shared-port.ts';

/** Ports below may need a right to listen on them. */
const PRIVILEGED_BELOW = 1_024;

/** Milliseconds in which something that listens accepts a connection, even if it then hangs. */
const WITHIN_MS = 1_000;

/**
 * Whether each port can be opened. A port that something listens on is only connected to: to listen there, even for a moment, would
 * reset connections of others. It is fine if a service with these settings runs.
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
  if (await listens(host, port)) {
    if (isRunning) return fine(`${portSetting}: ${port} is used by the service that runs`);
    const text = `${portSetting}: something listens on port ${port}, and no service answers on MANAGEMENT_PORT`;
    const fix = `if it is the service, it hangs or has other settings: look at its log. Otherwise stop it, or set ${portSetting} to another port`;
    return problem(text, fix);
  }
  try {
    // With any free port where the right to listen does not depend on it.
    await tryListening({ host, port: port < PRIVILEGED_BELOW ? port : 0 });
    return fine(`${portSetting}: ${port} is free`);
  } catch (fault) {
    const found = listenProblem(fault, [{ ...place, port: port < PRIVILEGED_BELOW ? port : 0 }]);
    if (found === undefined) throw fault;
    return problem(found.text, found.fix);
  }
}

/** Whether a connection is accepted, or begins to be. */
function listens(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: WITHIN_MS });
    const end = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.on('connect', () => end(true));
    socket.on('timeout', () => end(false));
    socket.on('error', () => end(false));
  });
}
