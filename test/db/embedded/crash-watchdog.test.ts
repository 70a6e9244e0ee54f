/** Runs the crash tests as on a system without setpriv. */
import t from 'tap'
import { crashTests } from './crash-cases.ts'

crashTests(t, true)
