/** The main module of the processes that make renditions. */
import { setPriority } from 'node:os'
import { serveTasks } from '../../decoding/serve.ts'
import { convert } from './convert.ts'

setPriority(5)
serveTasks(convert)
