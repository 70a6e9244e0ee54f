import t from 'tap'
import { attackBackEnd } from './attack-back-end.ts'
import { memory } from './back-ends.ts'

attackBackEnd(t, 'memory', memory)
