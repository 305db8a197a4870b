import { runWorker } from './worker.ts';

runWorker();
