import { attackBackEnd } from './attack-back-end.ts'
import { sftp } from './back-ends.ts'
import { withoutBackslash } from './corpus.ts'

attackBackEnd('SFTP', sftp, { every: 4, shown: withoutBackslash })
