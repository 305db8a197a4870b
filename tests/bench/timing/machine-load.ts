import { availableParallelism } from 'node:os';
import { startProcess } from '../server-process.ts';

const SECONDS_MAX = 600;

/** Signs without a pause, and ends by itself. */
const SCRIPT = `
  const { generateKeyPairSync, sign } = require('node:crypto');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const end = Date.now() + ${SECONDS_MAX} * 1000;
  while (Date.now() < end) sign('sha256', Buffer.alloc(64), privateKey);`;

/** Keeps each core busy with a process until the end. */
export function loadMachine(opened: AsyncDisposableStack): void {
  for (let core = 0; core < availableParallelism(); core += 1) {
    const child = startProcess(process.execPath, ['-e', SCRIPT], { stdio: 'ignore' });
    opened.defer(() => void child.kill('SIGKILL'));
  }
}
