import { runProcess } from '../servers/own-process.ts';
import { installPeers, peerFile, peerVersion } from '../servers/peers.ts';
import { parseAutocannonOutput } from './autocannon-output.ts';
import { ANSWER_SECONDS_MAX, type LoadGenerator, type LoadJob } from './load-generator.ts';

/** autocannon, which is installed where it is not yet. */
export async function createAutocannon(): Promise<LoadGenerator> {
  await installPeers();
  return {
    name: `autocannon ${await peerVersion('autocannon')}`,
    run: async (job) =>
      parseAutocannonOutput(await runProcess(process.execPath, [peerFile('autocannon.mjs'), jsonOf(job)])),
  };
}

function jsonOf({ tokenUrl, connections, seconds, clients: { count, step, secret } }: LoadJob): string {
  const clientIds = Array.from({ length: count }, (_, n) => `client-${1 + n * step}`);
  return JSON.stringify({ url: tokenUrl, connections, seconds, clientIds, secret, timeoutSeconds: ANSWER_SECONDS_MAX });
}
