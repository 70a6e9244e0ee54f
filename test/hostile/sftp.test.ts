import t from 'tap'
import { attackBackEnd } from './attack-back-end.ts'
import { sftp } from './back-ends.ts'
import { withoutBackslash } from './corpus.ts'

attackBackEnd(t, 'SFTP', sftp, { every: 4, shown: withoutBackslash })
