import { parentPort } from 'node:worker_threads';
import { ALGORITHMS } from './algorithms.ts';
import type { Batch } from './signing-threads.ts';

// The file of a thread of SigningThreads. The key comes with each batch, so no thread can sign with an old one.
parentPort?.on('message', ({ alg, key, inputs }: Batch) => {
  parentPort?.postMessage(inputs.map((input) => ALGORITHMS[alg].sign(key, input)));
});
