import { runWorker } from '../adapters/cluster/run-worker.ts';
import { startWorker } from './compose-worker.ts';

runWorker(startWorker);
