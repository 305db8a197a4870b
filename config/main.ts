import { run } from './run.ts';
import { startFromEnvironment } from './service.ts';

await run('The service', () => startFromEnvironment(process.env));
