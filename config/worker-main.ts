import { runWorker } from './compose-worker.ts';

runWorker();
