import { attackBackEnd } from './attack-back-end.ts'
import { sftp } from './back-ends.ts'

attackBackEnd('SFTP', sftp, { every: 4 })
