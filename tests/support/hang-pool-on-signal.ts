// For `node --import`: on SIGUSR2, as many threads of libuv's pool as HANGING_THREADS says wait for the writer of a
// named pipe, as they do for a name server that is lost.

import { open } from 'node:fs';

process.on('SIGUSR2', () => {
  const { HANGING_THREADS, HANGING_PIPE = '' } = process.env;
  for (let thread = 0; thread < Number(HANGING_THREADS); thread += 1) open(HANGING_PIPE, 'r', () => {});
  process.stdout.write('the threads hang\n');
});
