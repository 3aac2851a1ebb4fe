package redact

import (
	"strings"
	"testing"
)

// planted lists command lines with a secret each, HUSHn, which must not appear in the output.
// Each is split at spaces, except between bars.
var planted = []string{
	"python t.py --header |X-Api-Key: HUSH1|",
	"curl -H |Authorization: Bearer HUSH2| https://x",
	"curl -H |Authorization: Basic HUSH3|",
	"curl -H |Cookie: session=HUSH4|",
	"python t.py --cookie session=HUSH5",
	"python t.py --cookie |sid=HUSH6; path=/|",
	`python t.py --config |{"api_key":"HUSH7","lr":1}|`,
	`python t.py --config |{"password": "HUSH8 and more", "x": 2}|`,
	`python t.py --config |{'db': {'passwd': 'HUSH9'}}|`,
	"python t.py --config |db:\n  password: HUSH10\n  host: x|",
	"python t.py --pass HUSH11",
	"python t.py --passphrase HUSH12",
	"python t.py --pw HUSH13",
	"python t.py --pin HUSH14",
	"python t.py -p HUSH15",
	"mysql -u root -pHUSH16",
	"python t.py postgres://user:pa:ss@HUSH17@host/db",
	"python t.py postgresql://user:HUSH18@host/db",
	"python t.py --dsn |Server=x;Database=y;Uid=z;Pwd=HUSH19;|",
	"python t.py |Server=x;Uid=z;Password=HUSH20;Port=1|",
	"python t.py |host=a user=b password=HUSH21 dbname=c|",
	"python t.py --key -HUSH22",
	"python t.py --hf-token HUSH23",
	"python t.py --hf_token=HUSH24",
	"WANDB_API_KEY=HUSH25 python t.py",
	"env AWS_SECRET_ACCESS_KEY=HUSH26 python t.py",
	"python t.py --apiKey HUSH27",
	"python t.py --openaiApiKey=HUSH28",
	"python t.py --client-secret HUSH29",
	"python t.py --credentials HUSH30",
	"python t.py --auth user:HUSH31",
	"python t.py --url https://user:HUSH32@host/x",
	"python t.py --url https://HUSH33@host/x",
	"python t.py --url https://user:pa/ss#HUSH34@host/x",
	"python t.py --url https://host/x?access_token=HUSH35&y=1",
	"python t.py --url https://host/x?a=1&sig=HUSH36",
	"python t.py s3://b/k?X-Amz-Signature=HUSH37",
	"python t.py user:HUSH38@host",
	"scp |user:pa:ss@HUSH39@host:/x| .",
	"python t.py ghp_HUSH40aaaaaaaaaaaa",
	"python t.py hf_HUSH41aaaaaaaaaaaa",
	"python t.py sk-ant-HUSH42aaaaaaaaaaaa",
	"python t.py xoxb-HUSH43aaaaaaaaaaaa",
	"python t.py npm_HUSH44aaaaaaaaaaaa",
	"python t.py pypi-HUSH45aaaaaaaaaaaa",
	"python t.py SG.HUSH46aaaaaaaaaaaa",
	"python t.py hvs.HUSH47aaaaaaaaaaaa",
	"python t.py https://hooks.slack.com/services/T0/B0/HUSH48",
	"python t.py |-----BEGIN RSA PRIVATE KEY-----\nHUSH49\n-----END RSA PRIVATE KEY-----|",
	"python t.py |-----BEGIN PRIVATE KEY-----\nHUSH50|",
	"python -c |import x; password = 'HUSH51'|",
	`python -c |login(token="HUSH52")|`,
	"python t.py --set db.password=HUSH53",
	"python t.py db.password=HUSH54",
	"python t.py +wandb.api_key=HUSH55",
	"python t.py --otp HUSH56",
	"python t.py --env |MY_TOKEN=HUSH57|",
	"docker run -e |DB_PASS=HUSH58| image",
	"docker run --env=API_KEY=HUSH59 image",
	"python t.py --jwt HUSH60",
	"python t.py --session-id=1 --sessionid HUSH61",
	"python t.py --kwargs |token: HUSH62, lr: 1|",
	"python t.py --webhook https://host/HUSH63",
	"python t.py --data |user=me&passwd=HUSH64&x=1|",
}

// Random words have no name; each is whole in its line.
var plantedWords = []string{
	"9f86d081884c7d659a2feaa0c55ad015", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghij", "AKIAIOSFODNN7EXAMPLE", "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw_",
}

func TestPlantedSecretsAreNotFoundAgain(t *testing.T) {
	for _, line := range planted {
		if got := strings.Join(CommandLine(splitLine(line)), " "); strings.Contains(got, "HUSH") {
			t.Errorf("%q\ngives %q", line, got)
		}
	}
	for _, secret := range plantedWords {
		for _, before := range []string{"python t.py ", "python t.py --x=", "python t.py /a/", "python t.py --y "} {
			if before == "python t.py /a/" && strings.Contains(secret, "/") {
				continue // a path like others
			}
			if got := strings.Join(CommandLine(splitLine(before+secret)), " "); strings.Contains(got, secret) {
				t.Errorf("%q gives %q", before+secret, got)
			}
		}
	}
}
