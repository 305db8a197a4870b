import './thread-pool-size.ts';
import { manageClients } from './programs/clients-program.ts';

/** `npm run clients`: manages the table `clients`. */
process.exitCode = await manageClients(process.argv.slice(2), process, process.env);
