import { runWorker } from '../adapters/workers/run-worker.ts';
import { startWorker } from './compose-worker.ts';

runWorker(startWorker);
