import { attackBackEnd } from './attack-back-end.ts'
import { memory } from './back-ends.ts'

attackBackEnd('memory', memory)
