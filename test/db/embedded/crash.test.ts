import t from 'tap'
import { crashTests } from './crash-cases.ts'

crashTests(t, false)
