import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';

// A thread of rsa-limit.ts: tells how many signatures it made in the seconds that it was given.
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const input = randomBytes(256);
const end = performance.now() + workerData.seconds * 1000;
let count = 0;
while (performance.now() < end) {
  sign('RSA-SHA256', input, privateKey);
  count += 1;
}
parentPort?.postMessage(count);
