import './thread-pool-size.ts';
import { SERVICE_PAGE } from './programs/help-pages.ts';
import { run } from './run.ts';
import { startFromEnvironment } from './service.ts';

await run(SERVICE_PAGE, () => startFromEnvironment(process.env));
