import './thread-pool-size.ts';
import { inspectService } from './capabilities/doctor.ts';

/** `npm run doctor`: checks the settings and what they depend on. */
process.exitCode = await inspectService(process.argv.slice(2), process, process.env);
