/** The main module of the processes that extract text. */
import { setPriority } from 'node:os'
import { serveTasks } from '../../../decoding/serve.ts'
import { extract } from './extract.ts'

// Requests of people come first.
setPriority(15)
serveTasks(extract)
