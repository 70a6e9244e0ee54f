import t from 'tap'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { s3 } from '../../hostile/back-ends.ts'

attackBackEnd(t, 'S3', s3, {
  every: 2,
  invalidKeys: [['..', '..', 'canary'], ['..'], ['.', 'x'], ['', 'x'], ['a', '', 'x'], ['a', '..', 'x']],
})
