import t from 'tap'
import { attackBackEnd } from './attack-back-end.ts'
import { s3 } from './back-ends.ts'

attackBackEnd(t, 'S3', s3, {
  every: 2,
  invalidKeys: [['..', '..', 'canary'], ['..'], ['.', 'x'], ['', 'x'], ['a', '', 'x'], ['a', '..', 'x']],
})
