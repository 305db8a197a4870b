import { runWorker } from '../../../adapters/workers/run-worker.ts';
import { startWorker } from './start-worker.ts';

runWorker(startWorker);
