import t from 'tap'
import { attackBackEnd } from './attack-back-end.ts'
import { ftp } from './back-ends.ts'
import { namesAllowedBy } from './corpus.ts'

// A listing has one name in each line.
attackBackEnd(t, 'FTP', ftp, { every: 4, names: namesAllowedBy({ forbiddenInNames: '\r\n\\' }) })
