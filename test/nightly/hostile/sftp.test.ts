import t from 'tap'
import { attackBackEnd } from '../../hostile/attack-back-end.ts'
import { sftp } from '../../hostile/back-ends.ts'
import { withoutBackslash } from '../../hostile/corpus.ts'

attackBackEnd(t, 'SFTP', sftp, { every: 4, shown: withoutBackslash })
