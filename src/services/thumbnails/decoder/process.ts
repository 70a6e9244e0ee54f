/** The main module of the processes that make thumbnails. */
import { serveTasks } from '../../decoding/serve.ts'
import { decode } from './decode.ts'

serveTasks(decode)
